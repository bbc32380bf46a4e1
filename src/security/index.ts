/** The security room's door: who may speak, and how secrets are made. */
export { createEgress } from './egress.ts';
export { createGatekeeper } from './gatekeeper.ts';
export { createStanding } from './standing.ts';
export { hashSecret, newToken } from './secrets.ts';
export { ensureFirstToken } from './tokens.ts';
