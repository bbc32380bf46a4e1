/** Public API of the security module: access, outbound requests, secrets. */
export { createEgress } from './egress.ts';
export { createAccessPolicy } from './access-policy.ts';
export { createCreatorAccess } from './creator-access.ts';
export { pairChannels, pairCommand } from './pair-command.ts';
export { hashSecret, newToken } from './secrets.ts';
export { ensureFirstToken } from './tokens.ts';
