// What the build puts in (build.mjs). In tests under Node.js neither is there.

/** Where the Worker's file lies, beside the page; "" in the single file. */
declare const WORKER_URL: string;

/** The Worker's text, in the single file; "" in the served page. */
declare const WORKER_TEXT: string;
