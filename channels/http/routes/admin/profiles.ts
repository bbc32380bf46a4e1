/** The routes about profiles: what there is, and changes of their files, which are checked before they are written. */
import { z } from 'zod';
import { MAX_CONFIG_CHANGES } from '../../../../src/protocol/operator/administration.ts';
import type { ProfileChanged } from '../../../../src/protocol/agent/profile.ts';
import { readJson } from '../../body.ts';
import { HttpError } from '../../errors.ts';
import type { HandlerDeps, HttpContext } from '../../route.ts';
import { sayToCaller } from '../language.ts';
import { changeSchema, versionSchema } from './config.ts';
import { refusedChange, wireProblems } from './problems.ts';

/** Longest prompt that is read, in UTF-16 units; the gateway counts bytes. */
const MAX_PROMPT = 64 * 1024;

/** The profiles as they apply now, and what is wrong with their files. */
export function listProfiles(c: HttpContext, { gateway }: HandlerDeps): Response {
  const { profiles, errors } = gateway.administration.profiles();
  return c.json({ profiles, ...wireProblems(errors) });
}

/** One profile with what its files say and their schema, described in the caller's language. */
export async function readProfile(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { table } = await sayToCaller(c, deps);
  const id = idOf(c);
  const found = deps.gateway.administration.profile(id, table);
  if (found === undefined) throw noProfile(id);
  return c.json({ ...found, ...wireProblems(found.errors) });
}

/** The body. */
export const newProfileSchema = z.strictObject({ id: z.string().max(200) });

/** Makes a profile: 201 with its id and version. */
export async function createProfile(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const { id } = await readJson(c.env.incoming, c.env.outgoing, newProfileSchema);
  return c.json(answerOf(id, await gateway.administration.createProfile(id)), 201);
}

const prompt = z.string().max(MAX_PROMPT).nullable().optional();
/** The body; a prompt that is null is that of the profile `default`. */
export const profileEditSchema = z.strictObject({
  version: versionSchema,
  changes: z.array(changeSchema).max(MAX_CONFIG_CHANGES).default([]),
  systemPrompt: prompt,
  subagentSystemPrompt: prompt,
});

/** Makes all changes or none: 400 names every error by its field, 409 says that the files were edited in between. */
export async function changeProfile(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const { version, ...edit } = await readJson(c.env.incoming, c.env.outgoing, profileEditSchema);
  const id = idOf(c);
  return c.json(answerOf(id, await gateway.administration.changeProfile(id, version, edit)));
}

/** Deletes the files of a profile, as they were read with the `version` of the query; a built-in one is as without them then. */
export async function removeProfile(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const id = idOf(c);
  const version = c.req.query('version') ?? '';
  if (version === '')
    throw new HttpError(400, 'invalid_query', '"version" must be that of the profile as it was read.', {
      param: 'version',
    });
  const removed = await gateway.administration.removeProfile(id, version);
  switch (removed.kind) {
    case 'removed':
      return c.json({ id, deleted: true, isBuiltIn: removed.isBuiltIn });
    case 'unknown':
      throw noProfile(id);
    case 'stale':
      throw changedMeanwhile(id);
    case 'built_in':
      throw new HttpError(409, 'profile_built_in', `"${id}" is a built-in profile without files: it stays.`);
    default:
      return removed satisfies never;
  }
}

function answerOf(id: string, changed: ProfileChanged): { id: string; version: string } {
  switch (changed.kind) {
    case 'changed':
      return { id, version: changed.version };
    case 'unknown':
      throw noProfile(id);
    case 'stale':
      throw changedMeanwhile(id);
    case 'refused':
      throw refusedChange('bad_profile', changed.problems);
    default:
      return changed satisfies never;
  }
}

function idOf(c: HttpContext): string {
  return c.req.param('id') ?? '';
}

function noProfile(id: string): HttpError {
  return new HttpError(404, 'profile_not_found', `There is no profile "${id.slice(0, 80)}".`);
}

function changedMeanwhile(id: string): HttpError {
  const message = `The files of "${id}" were edited since this version was read: read it again. Nothing was changed.`;
  return new HttpError(409, 'profile_changed', message);
}
