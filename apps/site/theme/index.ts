/** The look of the site: VitePress's own, with colours that can be read, and the playground in its page. */

import { inBrowser, type Theme, useRoute, withBase } from "vitepress";
import DefaultTheme from "vitepress/theme";
import { h, onMounted, type VNode, watch } from "vue";
import "./site.css";

/** Starts the playground when its page is shown. */
function usePlayground(): void {
  const route = useRoute();
  const start = async (): Promise<void> => {
    const place = document.getElementById("playground-here");
    if (place === null || place.dataset["started"] === "yes") return;
    place.dataset["started"] = "yes";
    const address = withBase("/playground/app/playground.js");
    const { startPlayground } = (await import(/* @vite-ignore */ address)) as {
      startPlayground(place: HTMLElement): void;
    };
    startPlayground(place);
  };
  onMounted(start);
  watch(
    () => route.path,
    () => setTimeout(start),
    { flush: "post" },
  );
}

/** The search is a dialog with a field and links in it; the theme says that it is a button, and that links are options of a list. */
function useSearchDialog(): void {
  const mend = (): void => {
    const box = document.querySelector(".VPLocalSearchBox");
    if (box === null) return;
    for (const element of box.querySelectorAll("[role=option], [role=listbox]")) element.removeAttribute("role");
    for (const element of box.querySelectorAll("li[aria-selected]")) element.removeAttribute("aria-selected");
    for (const key of box.querySelectorAll("kbd[aria-label]")) key.setAttribute("role", "img");
    if (box.getAttribute("role") === "dialog") return;
    for (const name of ["aria-expanded", "aria-haspopup", "aria-owns"]) box.removeAttribute(name);
    box.setAttribute("role", "dialog");
    box.setAttribute("aria-modal", "true");
  };
  onMounted(() => new MutationObserver(mend).observe(document.body, { childList: true, subtree: true }));
}

/** What stands where there is no page. */
function NotFound(): VNode {
  const way = h("p", [
    h("a", { href: withBase("/") }, "To the beginning"),
    " · ",
    h("a", { href: withBase("/faq") }, "Questions"),
  ]);
  return h("main", { class: "vp-doc not-found" }, [h("h1", "There is no such page"), way]);
}

const theme: Theme = {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { "not-found": NotFound }),
  setup() {
    if (!inBrowser) return;
    usePlayground();
    useSearchDialog();
  },
};

export default theme;
