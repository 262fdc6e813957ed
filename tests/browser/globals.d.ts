// Names that tests put into a page's window, and members that the kit adds to a page.
import 'playwright-core';

declare global {
  interface Window {
    wkViolations: string[];
    wkAway?: boolean;
    /** Requests that are under way. */
    asking: number;
    said: (text: string) => void;
    /** axe-core. */
    axe: any;
    /** How many intervals run. */
    timers: () => number;
    /** The longest task so far, in milliseconds. */
    longest: number;
    // The bench of parts.test.mjs.
    bench: any;
    recipes: any;
    opened: any;
    acted: any;
    answer: any;
    deleted: any;
    undone: any;
    drawn: any;
    picked: any;
    stayed: any;
  }
}

declare module 'playwright-core' {
  interface Page {
    /** Everything the page did that it must not do. */
    wrong(): Promise<string[]>;
    /** Closes the page's context; gives the same list. */
    done(): Promise<string[]>;
    /** The page's line to the server, where a test cuts it. */
    line?: any;
  }
}
