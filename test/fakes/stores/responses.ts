/** Stored responses in memory. Nothing is ever too old or too much. */
import type { GatewayApi } from '../../../src/protocol/gateway-api.ts';
import type { ResponseItem, StoredResponse } from '../../../src/protocol/store/ledger.ts';

/** Makes the store. */
export function fakeResponses(): GatewayApi['responses'] {
  const stored = new Map<string, StoredResponse>();
  const find = (tokenId: string, id: string) => stored.get(`${tokenId} ${id}`);
  const outputOf = ({ body }: StoredResponse): ResponseItem[] =>
    Array.isArray(body['output']) ? body['output'] : [];
  return {
    storeResponse: async ({ tokenId }, response) => void stored.set(`${tokenId} ${response.id}`, response),
    response: async (tokenId, id) => find(tokenId, id),
    responseItems: async (tokenId, places) =>
      places.map(({ responseId, part, index }) => {
        const response = find(tokenId, responseId);
        return response && (part === 'input' ? response.input : outputOf(response))?.[index];
      }),
    async responseChain(tokenId, id) {
      const items: ResponseItem[] = [];
      for (let at: string | undefined = id; at !== undefined;) {
        const response = find(tokenId, at);
        if (response?.input === undefined) return { missing: at };
        if (response.session !== undefined) return { session: response.session };
        items.unshift(...response.input, ...outputOf(response));
        at = response.previousId;
      }
      return { items };
    },
    deleteResponse: async (tokenId, id) => stored.delete(`${tokenId} ${id}`),
  };
}
