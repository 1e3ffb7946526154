/* SPDX-License-Identifier: MIT */
/*
 * api.js - requests to the server, as docs/formats/ui.md defines them.
 *
 * A request with a key supersedes the one before of the same key.  Whoever asks gets the answer, or
 * undefined: superseded, or failed with a notice.  A page with its data inside (`duet ui --html`) asks
 * offline.js instead of a server.
 */

import { notice } from "./notice.js";

const running = new Map(); /* key: AbortController */
const isOffline = document.getElementById("duet-data") !== null;
const offline = isOffline ? import("./offline.js") : null;

/* address - of @path with @params; undefined and null ones are left out, arrays joined by commas. */
export function address(path, params = {})
{
	const query = new URLSearchParams();
	for (const [name, value] of Object.entries(params))
		if (value !== undefined && value !== null)
			query.set(name, Array.isArray(value) ? value.join(",") : text(value));
	const s = query.toString();
	return s ? `${path}?${s}` : path;
}

function text(value)
{
	return typeof value === "number" ? String(Math.round(value)) : String(value);
}

async function ask(path, options, params, body)
{
	if (isOffline)
		return (await offline).answer(path, params, body);
	const response = await fetch(address(path, params), options);
	const type = response.headers.get("Content-Type") || "";
	const answer = type.includes("json") ? await response.json() : await response.text();
	if (!response.ok)
		throw Object.assign(new Error(answer.error || `${path}: the server answered ${response.status}`),
			{ answer: { ...answer, status: response.status } });
	return answer;
}

async function request(path, options, params, body, { key, quiet })
{
	const control = new AbortController();
	if (key) {
		running.get(key)?.abort();
		running.set(key, control);
	}
	try {
		return await ask(path, { ...options, signal: control.signal }, params, body);
	} catch (error) {
		if (control.signal.aborted)
			return undefined;
		const words = error instanceof TypeError
			? "The server does not answer; `duet ui` may have ended" : error.message;
		if (!quiet)
			notice(words, "error");
		return quiet ? { ...error.answer, error: words } : undefined;
	} finally {
		if (key && running.get(key) === control)
			running.delete(key);
	}
}

/* get - GET @path with @params.  @key: supersedes the request before with this key.  @quiet: no notice;
 * the answer is { error, status } then, with the other members that it had. */
export function get(path, params = {}, options = {})
{
	return request(path, { credentials: "same-origin" }, params, undefined, options);
}

/* post - POST @body as JSON to @path. */
export function post(path, body, options = {})
{
	return request(path, {
		method: "POST",
		credentials: "same-origin",
		headers: { "Content-Type": "application/json" },
		body: JSON.stringify(body),
	}, {}, body, options);
}

/* cancel - drop the request of @key, if one is running. */
export function cancel(key)
{
	running.get(key)?.abort();
}
