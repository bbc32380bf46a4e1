/** A property that fails is made smaller for a bounded time: without a bound a large document would keep a whole run waiting. */
import * as fc from 'fast-check';

/** Longest run of one property in milliseconds, the search for a smaller failing case included. */
const LONGEST_MS = 120_000;

fc.configureGlobal({ interruptAfterTimeLimit: LONGEST_MS, markInterruptAsFailure: true });
