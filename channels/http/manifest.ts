/** HTTP as the gateway knows it before loading it: the page and the API, always on. */
import { z } from 'zod';
import { defineChannel } from '../../src/contracts/channel.ts';

const PORT = { error: 'must be a port, 0 to 65535; 0 = any free one' };

export const manifest = defineChannel({
  name: 'http',
  label: 'Web',
  needs: 'nothing',
  env: z.object({
    /** Port to listen on. */
    PORT: z.coerce.number(PORT).int(PORT).min(0, PORT).max(65_535, PORT).default(8_080),
    /** Address to listen on: this machine only, unless somebody decides otherwise. */
    HOST: z.string().min(1).default('127.0.0.1'),
  }),
  settings: z.strictObject({
    /** Browser origins that may call besides the gateway's own page, exactly as browsers send them. */
    allowedOrigins: z.array(z.url()).default([]),
    /** `Host` values that are answered besides loopback and `HOST`, with the port where it is not the scheme's own. */
    allowedHosts: z.array(z.string().min(1)).default([]),
  }),
  secretShapes: [],
  isOn: () => true,
  secrets: () => [],
  async create({ env, settings }, deps) {
    const { create } = await import('./index.ts');
    return create({ host: env.HOST, port: env.PORT, ...settings }, deps);
  },
});
