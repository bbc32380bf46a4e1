/** The parameters of a Bot API call, and refusals with the texts of the real server. */

/** Thrown inside the fake; becomes `{ok: false, error_code, description, parameters}`. */
export class Refusal extends Error {
  readonly status: number;
  readonly parameters: Record<string, number> | undefined;

  constructor(status: number, description: string, parameters?: Record<string, number>) {
    super(description);
    this.status = status;
    this.parameters = parameters;
  }
}

/** Parameters of a call as received. */
export type Params = Record<string, unknown>;

/** A parameter as text, as the server reads numbers and strings alike; empty if it is absent or of another kind. */
export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** 400 with the server's prefix. */
export const badRequest = (why: string): Refusal => new Refusal(400, `Bad Request: ${why}`);

/** 403 with the server's prefix. */
export const forbidden = (why: string): Refusal => new Refusal(403, `Forbidden: ${why}`);

/** 429 with the seconds to wait, rounded up as the server does. */
export function tooManyRequests(waitMs: number): Refusal {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return new Refusal(429, `Too Many Requests: retry after ${seconds}`, { retry_after: seconds });
}

/** Throws 401 for a token that is not the valid one. */
export function checkToken(token: string, valid: string | undefined): void {
  if (!/^\d+:[\w-]+$/.test(token)) throw new Refusal(401, 'Unauthorized: invalid token specified');
  if (token !== valid) throw new Refusal(401, 'Unauthorized');
}
