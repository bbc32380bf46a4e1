/** Public API of the security module: access, outbound requests, secrets. */
export { administerAccess, administerTokens } from './administration.ts';
export { createEgress, egressTo } from './egress.ts';
export { openEgressProxy } from './egress-proxy.ts';
export { createServiceFetch } from './service-fetch.ts';
export { createAccessPolicy, createOwnerChats, ownersOf } from './access-policy.ts';
export { createCreatorAccess } from './creator-access.ts';
export { pairChannels, pairCommand } from './pair-command.ts';
export { ownToken } from './token-lookup.ts';
export { ensureFirstToken } from './sign-in.ts';
export { foreignPlaces, homePermissions, openPlaces, placesOf } from './home-permissions.ts';
export { databaseUrlOf, linkWarnings, natsSecrets } from './links.ts';
export { createSignInApi, openCommand, signInLink, signInsCommand } from './sign-in.ts';
export { tokenCommand } from './token-command.ts';
