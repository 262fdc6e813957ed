// Types that the pages' scripts share. Ambient, so that a script names them without an import; never served.

declare namespace Wk {
  // Elements (base/dom.js)

  /** Whatever stands in an element: text, nodes, lists of them; null and false leave nothing. */
  type Child = unknown;

  interface Props {
    on?: Record<string, (event: any) => unknown>;
    class?: string | null | false;
    /** Custom properties of CSS. */
    vars?: Record<string, unknown>;
    /** Members of the element instead of attributes. */
    props?: object;
    [attribute: string]: unknown;
  }

  /** The tag at the front of `input.code#id`. */
  type Tag<S extends string> = S extends `${infer Head}.${string}`
    ? Tag<Head>
    : S extends `${infer Head}#${string}`
      ? Head
      : S;
  type Made<S extends string> =
    Tag<S> extends ''
      ? HTMLDivElement
      : Tag<S> extends keyof HTMLElementTagNameMap
        ? HTMLElementTagNameMap[Tag<S>]
        : HTMLElement;
  type H = <S extends string>(spec: S, props?: Props | null, ...kids: Child[]) => Made<S>;
  type S = <T extends keyof SVGElementTagNameMap>(
    tag: T,
    attrs?: Record<string, unknown> | null,
    ...kids: Child[]
  ) => SVGElementTagNameMap[T];
  type Fill = <E extends Element>(el: E, ...kids: Child[]) => E;

  // Calls (base/api.js)

  interface Options {
    query?: Record<string, unknown>;
    body?: unknown;
    signal?: AbortSignal;
    /** Milliseconds. */
    timeout?: number;
    /** A 401 does not open the login view. */
    quiet?: boolean;
    headers?: Record<string, string>;
  }
  /** The row of the API's list that a path fits: `unknown` for a path that no route has. */
  type Row<Rows extends unknown[], Path extends string> = Rows extends [infer First, ...infer Rest]
    ? First extends [infer At, infer Body, infer Answer]
      ? Path extends At
        ? [Body, Answer]
        : Row<Rest, Path>
      : never
    : [unknown, unknown];
  /** A path that is only known to be a text says nothing of its answer. */
  type Body<Rows extends unknown[], Path extends string> = string extends Path ? any : Row<Rows, Path>[0];
  type Answer<Rows extends unknown[], Path extends string> = string extends Path ? any : Row<Rows, Path>[1];

  type Get = <P extends string>(path: P, opts?: Options) => Promise<Answer<Api.Get, P>>;
  type Post = <P extends string>(path: P, body?: Body<Api.Post, P>, opts?: Options) => Promise<Answer<Api.Post, P>>;
  type Put = <P extends string>(path: P, body?: Body<Api.Put, P>, opts?: Options) => Promise<Answer<Api.Put, P>>;
  type Del = <P extends string>(path: P, opts?: Options) => Promise<Answer<Api.Delete, P>>;

  // Pages (base/router.js, app.js)

  /** What the frame's head shows; only given members change. */
  interface Head {
    title?: string;
    /** Of the browser, when it says more than the title. */
    tab?: string;
    sentence?: Child;
    crumbs?: { label: string; href?: string; copy?: string }[] | null;
    actions?: Child;
    badges?: Child;
  }
  /** Everything that a page may use, and nothing of the frame itself. */
  interface Context {
    params: Record<string, string>;
    query: Record<string, string>;
    signal: AbortSignal;
    api: typeof import('../base/api.js');
    live: import('../base/live.js').Live;
    state: typeof import('../base/state.js').state;
    router: typeof import('../base/router.js');
    head(head: Head): void;
    echo(line?: { cli?: string; api?: string }): void;
    say(sentence: string): void;
    digest(sentence: string): void;
    can(role?: string): boolean;
    /** The namespace of jobs that the address names. */
    ns?: string;
  }
  interface Page {
    update?(params: Record<string, string>, query: Record<string, string>): unknown;
    unmount?(): unknown;
  }
  // biome-ignore lint/suspicious/noConfusingVoidType: a page that follows nothing gives nothing back.
  type Mount = (root: HTMLElement, ctx: Context) => Page | void;

  // Parts (base/parts.js, base/overlay.js)

  interface ButtonOptions {
    label?: Child;
    icon?: string;
    kind?: string;
    /** A promise keeps the button busy until it ends. */
    run?: (event: Event) => unknown;
    /** Switches the button off, and is read with it. */
    reason?: string | null | false;
    small?: boolean;
    full?: boolean;
    title?: string;
    attrs?: Props;
  }
  interface EmptyOptions {
    glyph?: string;
    title: Child;
    say?: Child;
    action?: Child;
    command?: string;
  }
  interface FieldOptions {
    label: Child;
    hint?: Child;
    type?: string;
    value?: string;
    /** A sentence, or nothing when the value is right. */
    check?: (value: string) => string | null | undefined | false;
    attrs?: Props;
  }
  interface TileOptions {
    href?: string;
    module?: string;
    name?: string;
    value?: number | null;
    unit?: string;
    line?: string;
    aside?: Child;
    points?: (number | null)[];
    staleMs?: number | null;
  }
  interface DrawerOptions {
    title: Child;
    say?: Child;
    content?: Child;
    actions?: Child;
    onclose?: () => unknown;
  }
  interface AskOptions {
    title: Child;
    say?: Child;
    command?: string;
    verb: Child;
    keep?: Child;
    danger?: boolean;
    /** Above a hundred objects the number must be typed. */
    count?: number;
    run?: () => unknown;
    content?: Child;
  }
  interface SheetOptions {
    title: Child;
    content: Child;
    wide?: boolean;
    cls?: string;
  }
  interface ToastOptions {
    glyph?: string;
    action?: Child;
    run?: () => unknown;
  }

  // Tables (base/table.js)

  interface Column<Row> {
    id: string;
    name: Child;
    num?: boolean;
    wide?: boolean;
    /** By the member that the id names, or by what a function gives. */
    sort?: boolean | ((row: Row) => unknown);
    cell?: (row: Row) => Child;
  }
  interface TableOptions<Row> {
    label: string;
    columns: Column<Row>[];
    key: (row: Row) => unknown;
    open?: (row: Row, tr: HTMLElement) => unknown;
    href?: (row: Row) => string;
    load?: (at: { cursor: string | null; sort: Sort | null }) => Promise<{ items: Row[]; cursor?: string | null }>;
    /** Of selected rows. */
    actions?: { label: Child; icon?: string; run: (rows: Row[], table: unknown) => unknown }[] | null;
    empty?: () => Child;
    sort?: Sort;
    /** How many rows the filter finds, on this page or not. */
    total?: number | null;
    /** Counts everything that the filter finds; absent where all of it is on the page. */
    pickTotal?: () => Promise<{ count: number; more: boolean }>;
    /** Whether all that the filter finds is in the state of what is on the page. */
    alike?: () => boolean;
  }
  interface Sort {
    id: string;
    down: boolean;
  }
  interface Filter {
    id: string;
    name: Child;
    options: Choice[] | (() => Choice[]);
  }
  interface Choice {
    value: string;
    label: string;
    mark?: Child;
    count?: number;
  }
  interface ChipsOptions {
    filters: Filter[];
    change: (id: string, value: string | null) => unknown;
    extra?: Element | null;
  }

  // Charts (base/charts.js)

  interface LineOptions {
    /** Unix milliseconds. */
    at: number[];
    series: { id: string; name: string; module?: string; points: (number | null)[]; dash?: string }[];
    format?: (value: number) => string;
    label?: string;
  }
  interface HistogramOptions {
    bins: { to: number; n: number }[];
    format: (value: number) => string;
    label: string;
    marks?: { name: string; value: number }[];
  }

  // The world (pages/world)

  /** A monster as the page keeps it: `lost` is the health of its last hit. */
  type Monster = Api.MonsterAttributes & { id: string; lost?: { from: number; at: number } };
  /** A reactor as the page keeps it: `shaken` is when it was last hit. */
  type Reactor = Api.ReactorAttributes & { id: string; shaken?: number };

  /** The theme's switch (base/theme.js). */
  interface Theme {
    current(): string;
    set(theme: string | null): void;
    toggle(): void;
  }
}

interface Window {
  wkTheme: Wk.Theme;
  wkLook: { toggle(): void };
}

// Events of our own, each with its detail.
interface WindowEventMap {
  'wk-go': CustomEvent<string>;
  'wk-lang': CustomEvent<string>;
  'wk-login': CustomEvent;
  'wk-logout': CustomEvent;
  'wk-say': CustomEvent<string>;
  'wk-theme': CustomEvent<string>;
}
interface EventTarget {
  addEventListener(
    type: string,
    run: (event: CustomEvent) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
}

// An element carries what it stands for, so that a click finds it.
interface Element {
  wkRow?: any;
  wkRows?: Map<unknown, Element>;
  wkItem?: any;
  wkLine?: any;
  wkCount?: number;
  player?: any;
  parts?: any;
  more?: any;
}

// Pages look for elements of their own: HTML, by tag or by class.
interface ParentNode {
  querySelector<K extends keyof HTMLElementTagNameMap>(selectors: K): HTMLElementTagNameMap[K] | null;
  querySelector(selectors: string): HTMLElement | null;
  querySelectorAll<K extends keyof HTMLElementTagNameMap>(selectors: K): NodeListOf<HTMLElementTagNameMap[K]>;
  querySelectorAll(selectors: string): NodeListOf<HTMLElement>;
}
interface Element {
  closest<K extends keyof HTMLElementTagNameMap>(selectors: K): HTMLElementTagNameMap[K] | null;
  closest(selectors: string): HTMLElement | null;
}

interface HTMLElementTagNameMap {
  'wk-banner': import('../base/bars.js').Banner;
  'wk-canvas': import('../base/canvas.js').Canvas;
  'wk-chips': import('../base/table.js').Chips;
  'wk-echo': import('../base/bars.js').Echo;
  'wk-feed': import('../base/feed.js').Feed;
  'wk-field': import('../base/parts.js').Field;
  'wk-ends': import('../base/keyview.js').Ends;
  'wk-histogram': import('../base/charts.js').Histogram;
  'wk-key': import('../base/keyview.js').KeyView;
  'wk-line': import('../base/charts.js').LineChart;
  'wk-mark': import('../party/marks.js').Mark;
  'wk-number': import('../base/parts.js').LiveNumber;
  'wk-search': import('../base/search.js').Search;
  'wk-spark': import('../base/charts.js').Spark;
  'wk-table': import('../base/table.js').Table;
  'wk-tile': import('../base/parts.js').Tile;
  'wk-twin': import('../base/canvas.js').Twin;
}
