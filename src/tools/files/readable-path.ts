/** Where a read-only path leads: `skills/…` into the gateway's skills, everything else into the session's workspace. */
import { ToolError } from '../../protocol/errors.ts';
import type { ToolContext } from '../../protocol/agent/tool.ts';
import { type Opened, openInside, pathParts } from './workspace.ts';

/** The name under which every session sees the gateway's skills. */
const SKILLS = 'skills';

/** True for a path that leads to the gateway's skills, which are its own text. Throws `ToolError('bad_path')`. */
export function isSkill(given: string): boolean {
  return pathParts(given)[0] === SKILLS;
}

/** Opens a file or folder for reading, as `openInside` does, in the workspace or among the skills. Throws `ToolError`. */
export async function openReadable(
  { workspace, skills }: Pick<ToolContext, 'workspace' | 'skills'>,
  given: string,
): Promise<Opened> {
  const [first, ...rest] = pathParts(given);
  if (first !== SKILLS) return await openInside(workspace, given);
  if (skills === undefined) throw new ToolError('not_found', 'No skills are installed.');
  return await openInside(skills, rest.join('/'));
}

/** Throws `ToolError('read_only')` for a path that reading would look up among the skills. */
export function refuseSkills(given: string): void {
  if (!isSkill(given)) return;
  throw new ToolError(
    'read_only',
    `"${SKILLS}/" holds the skills of the gateway, which are only read: use another folder.`,
  );
}
