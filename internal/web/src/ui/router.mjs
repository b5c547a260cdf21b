// Where one is. The address of the page never changes: the browser's history holds a
// number, and what it stands for is kept here and gone with the page.

/** @typedef {{view: string, agent?: string, part?: string, id?: string, slug?: string}} Route */
/** @typedef {{node: Element, close?: () => void, update?: (route: Route) => boolean}} View */

export class Router {
  /** @type {{route: Route, scroll: number}[]} */
  #stack = [];
  #at = -1;
  /** @type {View | null} */
  #view = null;
  #main;
  #make;
  #shown;

  /**
   * @param {HTMLElement} main
   * @param {(route: Route) => View} make
   * @param {(route: Route) => void} shown
   */
  constructor(main, make, shown) {
    this.#main = main;
    this.#make = make;
    this.#shown = shown;
    addEventListener('popstate', (event) => {
      const at = event.state?.at;
      if (Number.isSafeInteger(at) && this.#stack[at]) this.#move(at);
    });
  }

  /** @returns {Route | undefined} */
  get route() {
    return this.#stack[this.#at]?.route;
  }

  /** @param {Route} route */
  go(route) {
    if (this.#at >= 0) this.#stack[this.#at].scroll = scrollY;
    this.#stack.length = this.#at + 1;
    this.#stack.push({ route, scroll: 0 });
    const at = this.#at + 1;
    if (at === 0) history.replaceState({ at }, '');
    else history.pushState({ at }, '');
    this.#at = at;
    this.#show(route, 0);
  }

  /** @param {number} at */
  #move(at) {
    if (this.#at >= 0) this.#stack[this.#at].scroll = scrollY;
    this.#at = at;
    this.#show(this.#stack[at].route, this.#stack[at].scroll);
  }

  /** @param {Route} route @param {number} scroll @param {boolean} [anew] */
  #show(route, scroll, anew = false) {
    if (!anew && this.#view?.update?.(route)) {
      this.#shown(route);
      return;
    }
    this.#view?.close?.();
    this.#view = this.#make(route);
    this.#main.replaceChildren(this.#view.node);
    this.#main.dataset.view = route.part ?? route.view;
    this.#shown(route);
    scrollTo(0, scroll);
    // A new view is read from its beginning.
    const heading = this.#main.querySelector('h1');
    heading?.setAttribute('tabindex', '-1');
    heading?.focus({ preventScroll: true });
  }

  /** Makes the same view anew, from what is there now. */
  again() {
    if (this.route) this.#show(this.route, scrollY, true);
  }
}
