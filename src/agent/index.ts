/** The agent room's door. */
export { createAgent } from './agent.ts';
export { createProfileCommands } from './profiles/commands.ts';
export { openProfiles } from './profiles/profiles.ts';
