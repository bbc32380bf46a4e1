/** Public API of the skills module: what `parley skill` needs, and what plug-ins are fetched and pinned with. */
export { describeChanges, describeSkill, skillLine } from './describe.ts';
export { type HomeSkill, Skills, writeContents } from './installed.ts';
export { hashOf, readContents, readSkillFolder, type SkillFolder } from './read-folder.ts';
export { openSource, sourceName } from './source.ts';
