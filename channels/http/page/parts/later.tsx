/** Components whose scripts are loaded when they are first drawn. */
import { signal } from '@preact/signals';
import { type ComponentType, h, type JSX } from 'preact';
import { showError } from '../failures/show-error.ts';

/**
 * The component that `load` gives; nothing until it is there. Why it could not be loaded is said by `excuse` in its place, else at
 * the edge of the page; it is tried again with the next drawing.
 */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  excuse?: (error: unknown) => string,
): (props: Props) => JSX.Element | null {
  const loaded = signal<ComponentType<Props> | undefined>(undefined);
  const problem = signal<string | undefined>(undefined);
  let isLoading = false;
  const start = async (): Promise<void> => {
    isLoading = true;
    try {
      loaded.value = await load();
    } catch (error) {
      if (excuse === undefined) showError(error);
      else problem.value = excuse(error);
    } finally {
      isLoading = false;
    }
  };
  return (props) => {
    if (loaded.value !== undefined) return h(loaded.value, props);
    if (!isLoading) void start();
    return problem.value === undefined ? null : <p class="quiet">{problem}</p>;
  };
}
