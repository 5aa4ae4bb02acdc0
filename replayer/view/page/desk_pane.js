// @ts-check
// Beside a running replay: its clock and its clients, and breaking a watch.
import {el} from "./model.js";

/** @param {any} app @param {HTMLElement} pane */
export async function deskPane(app, pane) {
  pane.replaceChildren(el("p", {class: "dim"}, app.hasDesk ? "" : "no replay runs beside this view"));
}

/** @param {any} app @param {HTMLElement} pane */
export async function runPane(app, pane) {
  pane.replaceChildren(el("p", {class: "dim"}, app.hasRun ? "" : "no run is shown"));
}
