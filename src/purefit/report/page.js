// Draws the charts that stand on the page as JSON, in the page's colours, again when those change.
"use strict";
(() => {
  const charts = [...document.querySelectorAll(".chart")].map((place) => ({
    place,
    figure: JSON.parse(place.nextElementSibling.textContent),
  }));
  const config = { displayModeBar: false, showTips: false };

  // "var(--ink)" under a key that names a colour or a font becomes what the style sheet says --ink is now.
  // Under other keys it is a text, and stays.
  const resolved = (value, style, key = "") => {
    if (Array.isArray(value)) return value.map((item) => resolved(item, style, key));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, resolved(v, style, k)]));
    }
    const name = typeof value === "string" && /color|family/.test(key) && /^var\((.*)\)$/.exec(value);
    return name ? style.getPropertyValue(name[1]).trim() : value;
  };

  const draw = () => {
    const style = getComputedStyle(document.documentElement);
    for (const { place, figure } of charts) {
      const { data, layout } = resolved(figure, style);
      // plotly can follow the width of its place by itself, but a moment later: too late for paper.
      layout.width = place.clientWidth;
      layout.height = Math.min(layout.height, 1.1 * layout.width);
      // On a touch screen a drag over a chart scrolls the page; with a mouse it zooms.
      if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false;
      Plotly.react(place, data, layout, config);
    }
  };
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

  let width = innerWidth;
  addEventListener("resize", () => {
    // On a phone the height changes with every scroll.
    if (width !== innerWidth) draw();
    width = innerWidth;
  });

  // Paper is white and has a width of its own; charts have to be drawn for it before the browser prints.
  const paper = (on) => () => {
    document.documentElement.classList.toggle("paper", on);
    draw();
  };
  addEventListener("beforeprint", paper(true));
  addEventListener("afterprint", paper(false));

  for (const button of document.querySelectorAll("button[data-copies]")) {
    const source = document.getElementById(button.dataset.copies);
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        // Where the browser gives a file no clipboard, the text is selected, for the reader to copy.
        getSelection().selectAllChildren(source);
        button.textContent = "Selected";
      }
    });
  }
})();
