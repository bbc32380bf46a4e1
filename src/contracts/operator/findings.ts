/** What `parley doctor` finds: one line each, and how to correct it. */

/** A change that `parley doctor --fix` may make: it loses nothing that anybody wrote. */
export interface Fix {
  /** What is done, such as "Removed the webhook". */
  told: string;
  /** Throws `GatewayError` or an error of the file system. */
  apply: () => Promise<void>;
}

/** One thing that was looked at. No text holds a secret. */
export interface Finding {
  /** What was looked at, in a word or two. */
  subject: string;
  /** `error`: something does not work; `warning`: it works, and should be changed. */
  level: 'ok' | 'warning' | 'error';
  /** One sentence. */
  text: string;
  /** The command or setting that corrects it. */
  remedy?: string | undefined;
  fix?: Fix | undefined;
}

/** What a check of a channel is told. */
export interface CheckContext {
  signal: AbortSignal;
  /** A gateway runs with this home now. */
  running: boolean;
}
