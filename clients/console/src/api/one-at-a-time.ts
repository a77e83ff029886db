import { useRef } from 'react';

/**
 * For acts behind a key: two presses are faster than the state that disables the second, which would only be told that it
 * comes too late.
 * @param mutate of an act; what comes while one is under way is dropped
 */
export function useOneAtATime<Input>(
  mutate: (input: Input, options: { readonly onSettled: () => void }) => void,
): (input: Input) => void {
  const underWay = useRef(false);
  return (input) => {
    if (underWay.current) return;
    underWay.current = true;
    mutate(input, {
      onSettled: () => {
        underWay.current = false;
      },
    });
  };
}
