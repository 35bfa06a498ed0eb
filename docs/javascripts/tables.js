// A table that is wider than the page scrolls inside itself: also by keyboard.
const reachable = () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .rankdev, table.dataframe"))
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
};
new MutationObserver(reachable).observe(document.querySelector("article"), { childList: true, subtree: true });
addEventListener("resize", reachable);
reachable();
