/** The security room's door: who may speak, and how secrets are made. */
export { createEgress } from './egress.ts';
export { createAccessPolicy } from './access-policy.ts';
export { createCreatorAccess } from './creator-access.ts';
export { hashSecret, newToken } from './secrets.ts';
export { ensureFirstToken } from './tokens.ts';
