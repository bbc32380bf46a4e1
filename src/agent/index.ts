/** Public API of the agent module. */
export { createAgent } from './agent.ts';
export { builtInProfiles } from './profiles/built-in.ts';
export { createProfileCommands } from './profiles/commands.ts';
export { createModels } from './model/models.ts';
export { createProfileFiles } from './profiles/profile-files.ts';
export { createProfiles } from './profiles/profiles.ts';
