/** The first message to the worker of the embedded database: where its data is, and where to listen. */
export interface WorkerMessage {
  dataDir: string;
  socketPath: string;
  /** The folder of the main thread's compiled code; undefined = it has none. */
  compileCache: string | undefined;
}

export function isWorkerMessage(value: unknown): value is WorkerMessage {
  return typeof value === 'object' && value !== null && 'dataDir' in value && 'socketPath' in value;
}
