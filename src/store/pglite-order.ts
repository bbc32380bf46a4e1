/** What the embedded database's worker is told: where its data is, and where to listen. */
export interface WorkerOrder {
  dataDir: string;
  socketPath: string;
}

export function isWorkerOrder(value: unknown): value is WorkerOrder {
  return typeof value === 'object' && value !== null && 'dataDir' in value && 'socketPath' in value;
}
