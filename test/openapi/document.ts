/** Prints the API's description, for linters and generators: `node test/openapi/document.ts > openapi.json`. */
import { API } from '../../channels/http/app.ts';
import { makeDocument } from '../../channels/http/openapi.ts';
import project from '../../package.json' with { type: 'json' };

process.stdout.write(`${JSON.stringify(makeDocument(API, project.version), undefined, 2)}\n`);
