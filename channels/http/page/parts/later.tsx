/** Components whose scripts are loaded when they are first drawn. */
import { signal } from '@preact/signals';
import { type ComponentType, h, type JSX } from 'preact';
import { showError } from '../failures/show-error.ts';

/** The component that `load` gives; nothing until it is there. What could not be loaded is tried again with the next drawing. */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): (props: Props) => JSX.Element | null {
  const loaded = signal<ComponentType<Props> | undefined>(undefined);
  let isLoading = false;
  const start = async (): Promise<void> => {
    isLoading = true;
    try {
      loaded.value = await load();
    } catch (error) {
      showError(error);
    } finally {
      isLoading = false;
    }
  };
  return (props) => {
    if (loaded.value !== undefined) return h(loaded.value, props);
    if (!isLoading) void start();
    return null;
  };
}
