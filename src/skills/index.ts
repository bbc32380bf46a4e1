/** Public API of the skills module: what `parley skill` needs. */
export { describeChanges, describeSkill, skillLine } from './describe.ts';
export { type HomeSkill, Skills } from './installed.ts';
export type { SkillFolder } from './read-folder.ts';
