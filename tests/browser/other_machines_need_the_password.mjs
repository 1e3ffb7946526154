/* SPDX-License-Identifier: MIT */
/* other_machines_need_the_password.mjs - `duet ui --listen` in a browser: the form, a wrong password, the right one. */
import fs from "node:fs";
import { blank, fresh, serve, settled } from "./lib/browser.mjs";
import { cases, is, ok, recording, wait } from "./lib/test.mjs";

const password = "two words & 100% b\u00e4r";
const file = `${fresh("password")}/file`;
fs.writeFileSync(file, `${password}\n`, { mode: 0o600 });

const server = await serve("--listen", "0.0.0.0", "--password-file", file, recording("web"));
const origin = `https://127.0.0.1:${new URL(server.address).port}`;
const page = await blank({ origin, ignoreHTTPSErrors: true });
page.problems.allow(/status of 403/);

const text = () => page.textContent("body");

async function send(typed)
{
	await page.fill("input[type=password]", typed);
	await page.keyboard.press("Enter");
}

await cases(page, {
	async without_it_there_is_a_form()
	{
		const answer = await page.goto(`${origin}/`);
		is(answer.status(), 403, "the status");
		ok(/Password/.test(await text()), "the form", await text());
		is(await page.evaluate(() => document.activeElement.type), "password", "it has the focus");
		const api = await page.evaluate(async () => (await fetch("/api/recording")).status);
		is(api, 403, "nothing else is answered");
	},
	async a_wrong_one_is_refused()
	{
		await send("not this one");
		await wait(page, "the refusal", () => /not the password/.test(document.body.textContent));
		is(await page.getAttribute("[role=alert]", "role"), "alert", "it is read aloud");
		is((await page.context().cookies()).length, 0, "there is no cookie");
	},
	async the_right_one_opens_the_page()
	{
		await send(password);
		await settled(page);
		is(page.url().split("#")[0], `${origin}/`, "the page");
		const [cookie] = await page.context().cookies();
		ok(cookie.secure && cookie.httpOnly && cookie.sameSite === "Strict", "its cookie", cookie);
		ok(/web/.test(await page.title()), "the recording", await page.title());
	},
});
