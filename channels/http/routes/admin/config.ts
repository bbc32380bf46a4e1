/** The routes about `config.json`: what it says, and changes that are checked before they are written. */
import { z } from 'zod';
import { MAX_CONFIG_CHANGES } from '../../../../src/protocol/operator/administration.ts';
import { readJson } from '../../body.ts';
import { HttpError } from '../../errors.ts';
import type { HandlerDeps, HttpContext } from '../../route.ts';
import { sayToCaller } from '../language.ts';
import { refusedChange, wireProblems } from './problems.ts';

/** The file with its schema, described in the caller's language; texts that may be secrets are only reported as set. */
export async function readConfig(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { table } = await sayToCaller(c, deps);
  const report = deps.gateway.administration.config(table);
  return c.json({ ...report, ...wireProblems(report.problems) });
}

/** What an edit is based on. */
export const versionSchema = z.string().min(1).max(100);

/** A field of a file, and its new value. */
export const changeSchema = z.strictObject({
  path: z
    .array(z.union([z.string().min(1).max(200), z.int().min(0).max(10_000)]))
    .min(1)
    .max(10),
  /** Left out: the field is reset to its default. */
  value: z.unknown().optional(),
});

/** The body. */
export const changesSchema = z.strictObject({
  version: versionSchema,
  changes: z.array(changeSchema).min(1).max(MAX_CONFIG_CHANGES),
});

/** Makes all changes or none: 400 names every error by its field, 409 says that the file was edited in between. */
export async function changeConfig(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const { version, changes } = await readJson(c.env.incoming, c.env.outgoing, changesSchema);
  const changed = gateway.administration.changeConfig(version, changes);
  switch (changed.kind) {
    case 'changed':
      return c.json(changed);
    case 'stale': {
      const message =
        'config.json was edited since this version was read: read it again. Nothing was changed.';
      throw new HttpError(409, 'config_changed', message);
    }
    case 'refused':
      throw refusedChange('bad_config', changed.problems);
    default:
      return changed satisfies never;
  }
}
