/**
 * Preloaded into a gateway by `--import=…/shifted-clock.ts?file=<path>`: the wall clock is off by the milliseconds that
 * are in the file, now and after each change. The monotonic clock is correct, as after a real step.
 */
import { existsSync, readFileSync } from 'node:fs';

/** How often the file is read, in milliseconds. */
const READ_EVERY_MS = 100;

const file = new URL(import.meta.url).searchParams.get('file') ?? '';
const RealDate = Date;
let offsetMs = readOffset();
setInterval(() => (offsetMs = readOffset()), READ_EVERY_MS).unref();

const now = (): number => RealDate.now() + offsetMs;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, self) => Reflect.construct(target, args.length === 0 ? [now()] : args, self),
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});

function readOffset(): number {
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) || 0 : 0;
}
