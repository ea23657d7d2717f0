/* Browsers do not let a page that is opened from a folder read the search index. */
if (location.protocol === "file:") {
  const search = document.querySelector(".md-search");
  const notice = document.createElement("button");
  notice.className = "no-search";
  notice.innerHTML = "No search from a folder<span>: python -m http.server -d site</span>";
  notice.title = "Hide";
  notice.hidden = sessionStorage.getItem("no-search") !== null;
  notice.onclick = () => {
    notice.hidden = true;
    sessionStorage.setItem("no-search", "hidden");
  };
  if (search) search.before(notice);
}
