/** The calls of a live message to its platform, counted, with the times of the first ones. */
import {
  type LiveCounts,
  type LivePoint,
  MAX_LIVE_EDITS,
  MAX_LIVE_POINTS,
} from '../../protocol/store/traces.ts';
import { ChannelError, type GatewayError } from '../../protocol/errors.ts';

/** What a live message has done; bounded. */
export class LiveCalls {
  readonly #epochMs: () => number;
  readonly #points: LivePoint[] = [];
  readonly #sums = { sent: 0, edited: 0, refused: 0, failed: 0 };

  constructor(epochMs: () => number) {
    this.#epochMs = epochMs;
  }

  /** The sums so far, and the points. */
  get counts(): LiveCounts {
    return { ...this.#sums, points: [...this.#points] };
  }

  /** A message was sent or edited. */
  shown(kind: 'sent' | 'edited'): void {
    this.#note({ kind });
  }

  /** The platform did not do it. */
  failed(error: GatewayError): void {
    const { code, retryAfterMs } = error;
    const isRefusal = error instanceof ChannelError && code === 'rate_limited';
    this.#note({
      kind: isRefusal ? 'refused' : 'failed',
      code,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    });
  }

  #note(point: Omit<LivePoint, 'atMs'>): void {
    this.#sums[point.kind] += 1;
    const isKept =
      this.#points.length < MAX_LIVE_POINTS &&
      (point.kind !== 'edited' || this.#sums.edited <= MAX_LIVE_EDITS);
    if (isKept) this.#points.push({ ...point, atMs: this.#epochMs() });
  }
}
