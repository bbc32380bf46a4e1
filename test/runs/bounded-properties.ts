/** A failing property is shrunk for a limited time: otherwise a large document would keep a whole run waiting. */
import * as fc from 'fast-check';

/** Longest run of one property in milliseconds, including the search for a smaller failing case. */
const LONGEST_MS = 120_000;

fc.configureGlobal({ interruptAfterTimeLimit: LONGEST_MS, markInterruptAsFailure: true });
