/**
 * The process that reads one file: it gets the file on standard input and answers on standard output. It has no
 * environment, may not write or start anything, and ends when it takes too long, so that a hostile file does no harm.
 */
import { buffer } from 'node:stream/consumers';
import { readContent } from './content.ts';

const { image, ...answer } = await readContent(await buffer(process.stdin));
process.stdout.write(`${JSON.stringify(answer)}\n`);
if (image !== undefined) process.stdout.write(image);
