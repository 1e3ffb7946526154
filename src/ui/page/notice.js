/* SPDX-License-Identifier: MIT */
/*
 * notice.js - short messages: shown for some seconds (notice), or read out only (announce).
 *
 * Texts may come from a recording: they are set as text, never as markup.
 */

const most = 4;
const seconds = { info: 5, error: 12 };

/* notice - show @text; @kind is "info" or "error".  The same text twice is shown once. */
export function notice(text, kind = "info")
{
	const box = document.getElementById("notices");
	for (const old of box.children)
		if (old.firstChild.textContent === text)
			old.remove();
	const line = document.createElement("div");
	line.className = `notice ${kind}`;
	const words = document.createElement("span");
	words.textContent = text;
	const close = document.createElement("button");
	close.textContent = "×";
	close.setAttribute("aria-label", "Close this message");
	close.addEventListener("click", () => line.remove());
	line.append(words, close);
	box.append(line);
	while (box.children.length > most)
		box.firstChild.remove();
	setTimeout(() => line.remove(), 1000 * (seconds[kind] || seconds.info));
}

/* announce - have a screen reader say @text. */
export function announce(text)
{
	document.getElementById("announcement").textContent = text;
}
