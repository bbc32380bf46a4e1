/** Pulls a model to an Ollama server and reports progress. */
import { ProviderError, toGatewayError } from '../../protocol/errors.ts';

/** Calls `progress` with what is done and, once it is known, the percentage. Throws `ProviderError`. */
export async function pullModel(
  { baseUrl, model }: { baseUrl: string; model: string },
  progress: (status: string, percent: number | undefined) => void,
): Promise<void> {
  const { Ollama } = await import('ollama');
  try {
    for await (const { status, completed, total } of await new Ollama({ host: baseUrl }).pull({
      model,
      stream: true,
    }))
      progress(status, total ? Math.floor(((completed ?? 0) / total) * 100) : undefined);
  } catch (error) {
    const { message } = toGatewayError(error);
    throw new ProviderError('unavailable', `Ollama could not fetch ${model}: ${message}`, { cause: error });
  }
}
