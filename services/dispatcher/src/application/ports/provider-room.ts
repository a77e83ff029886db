import type { ProviderLimits } from './model-provider.ts';

/** Room at one provider. Who has taken some gives it back; who dies is forgotten after a while. */
export interface ProviderRoom {
  /**
   * @param holder names the exchange; asked again under the same name nothing more is taken
   * @returns false: there is no room now, or others have asked before; who goes on asking keeps its turn
   */
  take(holder: string, tokens: number): Promise<boolean>;
  /**
   * Gives a place back, or the turn of one who waited for it.
   * @param over tokens that it used beyond those it took; below nothing where it used less
   */
  give(holder: string, over: number): void;
}

/** Room that all gateways of the fleet share, by the name of the provider. */
export type SharedRooms = (provider: string, limits: ProviderLimits) => ProviderRoom;
