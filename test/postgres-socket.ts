/** The socket of the Postgres server of the tests, for separate processes. */

/**
 * A URL cannot hold a socket's folder: the driver takes it from the environment. Empty if the server has an address.
 */
export function socketOfPostgres(): Record<string, string> {
  const { PGHOST, PGUSER } = process.env;
  return { ...(PGHOST !== undefined && { PGHOST }), ...(PGUSER !== undefined && { PGUSER }) };
}
