/* Browsers do not let a page that is opened from a folder read the search index. */
if (location.protocol === "file:") {
  const search = document.querySelector(".md-search");
  const notice = document.createElement("span");
  notice.className = "no-search";
  notice.textContent = "No search from a folder: python -m http.server -d site";
  if (search) search.before(notice);
}
