// What the address says: a page, and its query with the names that the app gives it (docs/parameters.md).

const HOME_PAGE = "model";

/** The address of a site: /heads/?sentence=…, below the folder where its files are. */
export class PathAddress {
  /** @param {URL} root @param {string[]} pages */
  constructor(root, pages) {
    this.root = root;
    this.pages = pages;
  }

  read() {
    const [name] = location.pathname.slice(this.root.pathname.length).split("/");
    return { page: this.pages.includes(name) ? name : HOME_PAGE, query: queryOf(location.search) };
  }

  /** @type {(page: string, query: View) => string} */
  link(page, query) {
    return new URL((page === HOME_PAGE ? "" : `${page}/`) + written(query), this.root).href;
  }
}

/** The address of a file, which has no folders: #/heads?sentence=…. */
export class HashAddress {
  /** @param {string[]} pages */
  constructor(pages) {
    this.pages = pages;
  }

  read() {
    const [path, search = ""] = location.hash.slice(1).split("?");
    const name = path.replaceAll("/", "");
    return { page: this.pages.includes(name) ? name : HOME_PAGE, query: queryOf(search) };
  }

  /** @type {(page: string, query: View) => string} */
  link(page, query) {
    return `#/${page === HOME_PAGE ? "" : page}${written(query)}`;
  }
}

/** @type {(search: string) => View} */
function queryOf(search) {
  return Object.fromEntries(new URLSearchParams(search));
}

/** @type {(query: View) => string} */
function written(query) {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")).toString();
  return search && `?${search}`;
}
