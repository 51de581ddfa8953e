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
    if (inBrowser) usePlayground();
  },
};

export default theme;
