/* SPDX-License-Identifier: MIT */
/*
 * commands.js - everything the page can do, by name; and the keys.
 *
 * A command is { id, title, keys, run, group, when }.  `keys` are texts such as "w", "shift+z",
 * "ctrl+k", "ArrowUp", "?"; "ctrl+" is the Command key of a Mac too.  `when` says whether it can run now.
 * Of several commands for one key the one registered last, that can run, runs.
 *
 * The only listener of the whole page's keys is here.  A widget with keys of its own (a grid, a text
 * field) handles them first and calls preventDefault().
 */

const all = new Map();
const byKey = new Map(); /* key: commands */

/* command - register one; one with the same id is replaced. */
export function command(c)
{
	const old = all.get(c.id);
	if (old)
		for (const key of old.keys || [])
			byKey.set(key, byKey.get(key).filter((o) => o !== old));
	all.set(c.id, c);
	for (const key of c.keys || [])
		byKey.set(key, [...(byKey.get(key) || []), c]);
	return c;
}

/* commands - all that have a title, in the order they were registered. */
export function commands()
{
	return [...all.values()].filter((c) => c.title);
}

export function canRun(c)
{
	return !c.when || c.when();
}

/* runCommand - run the command @id.  Returns whether it exists and could run. */
export function runCommand(id, argument)
{
	const c = all.get(id);
	if (!c || !canRun(c))
		return false;
	c.run(argument);
	return true;
}

/* keyOf - the text of the key that @event pressed. */
export function keyOf(event)
{
	let key = event.key === " " ? "Space" : event.key;
	const isLetter = key.length === 1 && key.toLowerCase() !== key.toUpperCase();
	if (isLetter)
		key = key.toLowerCase();
	return (event.ctrlKey || event.metaKey ? "ctrl+" : "") + (event.altKey ? "alt+" : "") +
	       (event.shiftKey && (isLetter || key.length > 1) ? "shift+" : "") + key;
}

const names = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };

/* keyText - a key of a command as it is shown: "Ctrl K", "⇧ Z". */
export function keyText(key)
{
	return key.split(/\+(?=.)/).map((k) => k === "ctrl" ? "Ctrl" : k === "shift" ? "⇧" : k === "alt" ? "Alt" :
		names[k] || (k.length === 1 ? k.toUpperCase() : k)).join(" ");
}

function isTyping(element)
{
	return element && (element.isContentEditable || element.tagName === "TEXTAREA" ||
		element.tagName === "SELECT" ||
		(element.tagName === "INPUT" && !/^(checkbox|radio|range|button)$/.test(element.type)));
}

function pressed(event)
{
	if (event.defaultPrevented || event.isComposing)
		return;
	const key = keyOf(event);
	if (isTyping(event.target) && key !== "Escape" && (!key.startsWith("ctrl+") || /^ctrl\+[zxcvay]$/.test(key)))
		return;
	if (event.target.tagName === "BUTTON" && (key === "Enter" || key === "Space"))
		return;
	for (const c of [...(byKey.get(key) || [])].reverse()) {
		if (!canRun(c))
			continue;
		event.preventDefault();
		c.run();
		return;
	}
}

document.addEventListener("keydown", pressed);
