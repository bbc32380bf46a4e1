/** What `parley doctor` finds: one line each, and how to fix it. */

/** A change that `parley doctor --fix` may make: it loses nothing that anyone wrote. */
export interface Fix {
  /** What is done, such as "Removed the webhook". */
  done: string;
  /** Throws `GatewayError` or an error of the file system. */
  apply: () => Promise<void>;
}

/** One thing that was checked. No text contains a secret. */
export interface Finding {
  /** What was checked, in a word or two. */
  subject: string;
  /** `error`: something does not work; `warning`: it works, but should be changed. */
  level: 'ok' | 'warning' | 'error';
  /** One sentence. */
  text: string;
  /** The command or setting that fixes it. */
  remedy?: string | undefined;
  fix?: Fix | undefined;
}

/** What a check of a channel gets. */
export interface CheckContext {
  signal: AbortSignal;
  /** A gateway is currently running with this home. */
  running: boolean;
}
