/* SPDX-License-Identifier: MIT */
/*
 * Names and roles for readers of screens, contrast, the order of the focus, all sizes from 1280 to 3840 pixels, and
 * 200 % text: what can be checked by a program.
 */
import { serve, settled } from "./lib/browser.mjs";
import { cases, is, ok, recording } from "./lib/test.mjs";
import { fresh, items, press, selects, still } from "./lib/steer.mjs";

const server = await serve(recording("lossy"));
const page = await server.open();
const panels = ["events", "statistics", "latency", "flame", "query"];

/* Elements that can have the focus or a role, and have no name. */
const nameless = () => page.evaluate(() => {
	const text = (id) => document.getElementById(id)?.textContent;
	const name = (e) => (e.getAttribute("aria-label") || (e.getAttribute("aria-labelledby") || "").split(/\s+/).map(text).join(" ") ||
		(e.labels?.length && e.labels[0].textContent) || e.title ||
		(!["INPUT", "TEXTAREA", "SELECT", "CANVAS"].includes(e.tagName) && e.textContent) || "").trim();
	return [...document.querySelectorAll("button, a[href], input, select, textarea, canvas[tabindex], [role=tree], [role=grid], " +
		"[role=treeitem], [role=tab], [role=separator], [role=slider], [role=img], [role=dialog], dialog, aside, section[id]")]
		.filter((e) => e.checkVisibility() && !e.closest("[aria-hidden=true]") && !name(e)).map((e) => e.outerHTML.slice(0, 160));
});

/* Text whose contrast with what lies behind it is less than 4.5 (3 if it is large). */
const faint = () => page.evaluate(() => {
	const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const rgba = (colour) => {
		probe.clearRect(0, 0, 1, 1);
		probe.fillStyle = colour;
		probe.fillRect(0, 0, 1, 1);
		return [...probe.getImageData(0, 0, 1, 1).data].map((v, i) => i === 3 ? v / 255 : v);
	};
	const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
	const behind = (e) => {
		const layers = [];
		for (let p = e; p; p = p.parentElement)
			layers.push(rgba(getComputedStyle(p).backgroundColor));
		return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
	};
	const light = (c) => {
		const [r, g, b] = c.map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const found = new Set();
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node; (node = walker.nextNode());) {
		const e = node.parentElement;
		if (!node.textContent.trim() || !e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || e.closest(":disabled") ||
		    e.closest(".unseen, .skip, [aria-hidden=true], option, datalist"))
			continue;
		const style = getComputedStyle(e), back = behind(e), text = over(rgba(style.color), back);
		const [a, b] = [light(text), light(back)].sort((x, y) => y - x);
		const ratio = (a + 0.05) / (b + 0.05), size = parseFloat(style.fontSize);
		if (ratio < (size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5) - 0.01)
			found.add(`${ratio.toFixed(2)} ${e.className || e.tagName} "${node.textContent.trim().slice(0, 30)}"`);
	}
	return [...found];
});

/* The theme's colours of text on what they are drawn on in the canvas. */
const faintInks = () => page.evaluate(() => {
	const style = getComputedStyle(document.documentElement);
	const rgb = (name) => {
		const probe = document.createElement("canvas").getContext("2d");
		probe.fillStyle = style.getPropertyValue(name).trim();
		return probe.fillStyle.match(/[0-9a-f]{2}/g).map((h) => parseInt(h, 16) / 255);
	};
	const light = (name) => {
		const [r, g, b] = rgb(name).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const pairs = [["--text", "--bg"], ["--text", "--panel"], ["--text", "--hover"], ["--dim", "--bg"], ["--dim", "--panel"],
		["--text", "--span"], ["--text", "--call"], ["--lost", "--panel"], ["--sel", "--panel"]];
	return pairs.map(([a, b]) => [a, b, [light(a), light(b)].sort((x, y) => y - x)])
		.map(([a, b, [x, y]]) => [a, b, (x + 0.05) / (y + 0.05)]).filter(([, , ratio]) => !(ratio >= 4.5))
		.map(([a, b, ratio]) => `${a} on ${b}: ${ratio.toFixed(2)}`);
});

async function eachPanel(check)
{
	for (const [i, name] of panels.entries()) {
		await page.locator("#canvas").focus();
		await press(page, String(i + 1));
		await settled(page, 250);
		await check(name);
	}
}

await cases(page, {
	async regions_and_rows_have_roles()
	{
		is(await page.getByRole("tree").count(), 1, "the rows are a tree");
		const item = page.getByRole("treeitem").filter({ hasText: "worker-1" });
		is(await item.getAttribute("aria-level"), "2", "with levels");
		ok(await page.getByRole("treeitem", { expanded: true }).count() > 1, "and what can be folded says so");
		is(await page.getByRole("application").first().getAttribute("aria-label"), "Timeline", "the canvas is an application");
		for (const role of ["banner", "main", "complementary"])
			is(await page.getByRole(role).count(), 1, `one ${role}`);
		is(await page.locator("html").getAttribute("lang"), "en", "a language");
		ok(await page.getByRole("grid").count() === 1, "the events are a grid");
	},
	async everything_has_a_name()
	{
		is(await nameless(), [], "on the page");
		await eachPanel(async (name) => is(await nameless(), [], `in the panel ${name}`));
		await page.locator("#canvas").focus();
		for (const key of ["/", "?", "Control+s"]) {
			await press(page, key);
			is(await nameless(), [], `after ${key}`);
			await press(page, "Escape");
			await page.locator("#canvas").focus();
		}
	},
	async what_is_selected_is_announced()
	{
		await fresh(page);
		const [, second] = await items(page, "worker-1", "spans", 3);
		await selects(page, second);
		const told = async () => (await page.locator("#announcement").innerText()).trim();
		ok((await told()).length > 5, "a selection", await told());
		const before = await told();
		await press(page, ".");
		await settled(page);
		ok(await told() !== before, "the next one", await told());
		await press(page, "ArrowDown");
		ok((await told()).length > 2, "a row", await told());
	},
	async the_focus_goes_through_the_page_in_order_and_is_seen()
	{
		await fresh(page);
		await page.evaluate(() => document.querySelector(".skip").focus());
		const seen = [], unseen = [];
		for (let i = 0; i < 40; i++) {
			await page.keyboard.press("Tab");
			const at = await page.evaluate(() => {
				const e = document.activeElement, style = getComputedStyle(e);
				const after = getComputedStyle(e, "::after");
				const isFilled = after.content !== "none" && !/, 0\)$|transparent/.test(after.backgroundColor);
				const region = ["top", "overview", "timeline", "side-split", "side", "lower-split", "lower"]
					.find((id) => document.getElementById(id).contains(e));
				return { region, isSeen: style.outlineStyle !== "none" || style.boxShadow !== "none" || isFilled,
					 what: e.outerHTML.slice(0, 80), isBody: e === document.body };
			});
			if (at.isBody)
				break;
			if (!at.isSeen)
				unseen.push(at.what);
			if (at.region && seen.at(-1) !== at.region)
				seen.push(at.region);
		}
		is(unseen, [], "the focus is visible everywhere");
		is(seen.slice(0, 7), ["top", "overview", "timeline", "side-split", "side", "lower-split", "lower"].filter((r) => seen.includes(r)),
			"from top to bottom");
		for (const region of ["top", "overview", "timeline", "lower"])
			ok(seen.includes(region), `it reaches ${region}`, seen);
	},
	async text_has_contrast_in_both_themes()
	{
		for (const colorScheme of ["dark", "light"]) {
			await page.emulateMedia({ colorScheme });
			await fresh(page);
			is(await faintInks(), [], `${colorScheme}: the theme's colours`);
			const [, second] = await items(page, "worker-2", "spans", 3);
			await selects(page, second);
			await eachPanel(async (name) => is(await faint(), [], `${colorScheme}, ${name}`));
		}
		await page.emulateMedia({ colorScheme: "dark" });
	},
	async it_fits_windows_from_1280_to_3840()
	{
		for (const [width, height] of [[1280, 720], [1920, 1080], [3840, 2160]]) {
			await page.setViewportSize({ width, height });
			await fresh(page);
			await settled(page);
			const fits = await page.evaluate(() => ({
				scrolls: document.documentElement.scrollWidth > innerWidth || document.documentElement.scrollHeight > innerHeight,
				canvas: document.getElementById("canvas").getBoundingClientRect().width,
				drawn: document.getElementById("canvas").width,
				outside: [...document.querySelectorAll("#top > *, #lower .tabs > *, #side > *")].filter((e) => e.checkVisibility() &&
					(e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().bottom > innerHeight + 1 && !e.closest("#side")))
					.map((e) => e.outerHTML.slice(0, 80)),
			}));
			ok(!fits.scrolls, `${width}: nothing is cut`, fits);
			is(fits.outside, [], `${width}: all controls are inside`);
			ok(fits.canvas > width * 0.5 && fits.drawn >= fits.canvas - 1, `${width}: the timeline has the room`, fits);
		}
		await page.setViewportSize({ width: 1600, height: 1000 });
	},
	async gaps_are_told_and_drawn()
	{
		ok((await page.locator("#top-counts").innerText()).includes("57 lost"), "losses stand at the top");
		const overlay = await page.evaluate(async () => (await import("/timeline/pictures.js")).knownGaps().length);
		is(overlay, 1, "one gap is drawn");
	},
});
