/**
 * Threads of embedded databases leave their compiled code for the next one, as those of a gateway do: without, each of
 * them removes types and compiles again, a third of its processor time.
 */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { compileCacheFolder } from '../../src/launch/compile-cache.js';

const packages = fileURLToPath(new URL('../../node_modules', import.meta.url));
const folder = compileCacheFolder(packages, packages);
if (folder !== undefined) enableCompileCache(folder);
