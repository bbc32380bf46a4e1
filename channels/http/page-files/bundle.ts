/**
 * Joins the modules of the page into a few scripts when it is built: a request for each of eighty costs more than their
 * bytes.
 */
/** Returns the address of what `import('…')` loads: a module of the page, or a file of a package. */
export type AddressOf = (specifier: string, importer: string) => Promise<string>;

/** Browsers of 2023 and later. */
const TARGET = 'es2022';

/**
 * One script with the module `entry` (a path) and all that it imports, without names and comments. What is imported
 * later is not in it: each such script is complete on its own, because one of another version could not be linked with
 * this one. Rejects with esbuild's `BuildFailure`, which names the file and the line.
 */
export async function bundleScript(entry: string, addressOf: AddressOf): Promise<string> {
  // Only a build needs it, and says so where it is not installed.
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    format: 'esm',
    minify: true,
    write: false,
    target: TARGET,
    legalComments: 'none',
    logLevel: 'silent',
    plugins: [
      {
        name: 'imported later',
        setup: (bundler) =>
          bundler.onResolve({ filter: /./ }, async ({ kind, path, importer }) =>
            kind === 'dynamic-import' ? { path: await addressOf(path, importer), external: true } : undefined,
          ),
      },
    ],
  });
  return outputFiles[0]?.text ?? '';
}
