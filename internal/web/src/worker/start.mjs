// Starts the Worker. The page's policy lets scripts be made by this one rule, which
// gives the Worker's own address whatever it is asked for.

/** @returns {Worker} */
export function start() {
  const url = WORKER_URL || URL.createObjectURL(new Blob([WORKER_TEXT], { type: 'text/javascript' }));
  const factory = /** @type {any} */ (globalThis).trustedTypes;
  const policy = factory?.createPolicy('engramd-worker', { createScriptURL: () => url });
  const worker = new Worker(policy ? policy.createScriptURL('') : url);
  if (!WORKER_URL) URL.revokeObjectURL(url);
  return worker;
}
