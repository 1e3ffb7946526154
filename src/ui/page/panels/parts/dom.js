/* SPDX-License-Identifier: MIT */
/*
 * panels/parts/dom.js - elements of the page, made without markup.
 *
 * A string becomes a text node, whatever it holds: names of recordings cannot become elements.
 * Styles are set through CSSOM, because the page's content policy refuses style attributes.
 * A text that is longer than `mostText` is cut: breaking a word of 20 000 letters into lines takes
 * browsers seconds.  What the user wrote or a script printed (pre) is whole; so is what is copied.
 */

const mostText = 1500;

/* shown - @text as it stands in @node. */
function shown(node, text)
{
	if (typeof text !== "string" || text.length <= mostText || node.tagName === "PRE")
		return text;
	return `${text.slice(0, mostText)}… (${text.length} letters)`;
}

/* el - an element.  `attributes`: class, text, style (an object), on (an object of listeners), and
 * any attribute; null and false leave it out.  Children: nodes, strings, arrays; null is skipped. */
export function el(tag, attributes, ...children)
{
	const node = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {})) {
		if (value === null || value === undefined || value === false)
			continue;
		if (name === "text")
			node.textContent = shown(node, value);
		else if (name === "style")
			Object.assign(node.style, value);
		else if (name === "on")
			for (const [type, fn] of Object.entries(value))
				node.addEventListener(type, fn);
		else
			node.setAttribute(name, value === true ? "" : value);
	}
	append(node, children);
	return node;
}

export function append(node, children)
{
	for (const child of children) {
		if (child === null || child === undefined || child === false)
			continue;
		if (Array.isArray(child))
			append(node, child);
		else
			node.append(shown(node, child));
	}
}

/* fill - replace the children of `node`. */
export function fill(node, ...children)
{
	node.replaceChildren();
	append(node, children);
}

export function button(text, run, attributes)
{
	return el("button", { type: "button", text, on: { click: run }, ...attributes });
}

/* link - a button that reads as a link: it goes somewhere in the recording. */
export function link(text, run, title)
{
	return button(text, run, { class: "link", title });
}

/* canvasOf - `canvas` in the size of its element, in device pixels.  Returns {x, width, height} with
 * the context scaled to CSS pixels. */
export function canvasOf(canvas)
{
	const box = canvas.parentElement.getBoundingClientRect();
	const ratio = window.devicePixelRatio || 1;
	const width = Math.max(1, Math.floor(box.width));
	const height = Math.max(1, Math.floor(box.height));
	if (canvas.width !== Math.round(width * ratio))
		canvas.width = Math.round(width * ratio);
	if (canvas.height !== Math.round(height * ratio))
		canvas.height = Math.round(height * ratio);
	canvas.style.width = width + "px";
	canvas.style.height = height + "px";
	const x = canvas.getContext("2d");
	x.setTransform(ratio, 0, 0, ratio, 0, 0);
	x.clearRect(0, 0, width, height);
	return { x, width, height };
}

/* copy - `text` to the clipboard; where the browser refuses that (http on another host), by a hidden
 * text area. */
export async function copy(text)
{
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const area = el("textarea", { class: "off-screen" });
		area.value = text;
		document.body.append(area);
		area.select();
		document.execCommand("copy");
		area.remove();
	}
}

/* later - a function that runs `fn` once `ms` after its last call. */
export function later(fn, ms)
{
	let timer = 0;
	return () => {
		clearTimeout(timer);
		timer = setTimeout(fn, ms);
	};
}
