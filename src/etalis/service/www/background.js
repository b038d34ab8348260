// What is known beside the events of a query: triples in Turtle, under the program while that is EP-SPARQL.
import { el } from "./dom.js";
import { Editor } from "./editor.js";

export class Background {
  constructor(host, { onChange, onRun }) {
    this.told = el("b", {});
    this.place = el("div", { class: "fill" });
    this.part = el("details", { class: "side background", hidden: true }, el("summary", {}, "Background knowledge, in Turtle ", this.told), this.place);
    host.append(this.part);
    this.editor = new Editor(this.place, { label: "Background", language: "ep-sparql", placeholder: "@prefix : <http://ex/> .\n:rose :sold :here .\n\nTriples that hold at all times. A Turtle file may be dropped here.", onRun, onChange: () => { this.tell(); onChange(); } });
  }

  /** Show it, or no longer. */
  beside(is) { this.part.hidden = !is; }

  get value() { return this.part.hidden ? "" : this.editor.value; }
  set value(text) {
    this.editor.value = text;
    this.part.open = Boolean(text);
    this.tell();
  }

  tell() {
    const lines = this.editor.value.split("\n").filter((line) => line.trim()).length;
    this.told.textContent = lines || "";
  }
}
