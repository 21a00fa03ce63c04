// A few questions for each collective. `right` is the place of the right answer.

const ask = (question, answers, right, why) => ({ question, answers, right, why });

export const QUIZZES = {
  all_reduce: [
    ask("How many rounds does a ring all-reduce take with 8 ranks?", ["7", "8", "14"], 2, "7 hops until the sums are complete, 7 more until all have them: 2(p − 1)."),
    ask("A message is only 8 bytes long. What matters most?", ["The number of rounds", "The bytes that are sent", "The speed of adding"], 0, "With next to no bytes each round costs α, the start of a message; so few rounds win."),
    ask("At the end of the first half of a ring, what does each rank hold?", ["One complete chunk", "All chunks, half complete", "Nothing new"], 0, "That half is a reduce-scatter: p complete chunks, one on each rank."),
  ],
  reduce: [
    ask("Who has the result after a reduce?", ["Everyone", "The root", "Rank 0, always"], 1, "A reduce leaves the sum at the root; an all-reduce leaves it with everyone."),
    ask("Why cut the message into pieces in a chain?", ["To add more exactly", "So that all ranks work at the same time", "To send fewer messages"], 1, "While one piece is added at rank 3 the next one is at rank 2. More messages, but hardly anybody waits."),
  ],
  broadcast: [
    ask("With a binomial tree, how many ranks know the message after 3 rounds?", ["4", "6", "8"], 2, "The number doubles: 1, 2, 4, 8."),
    ask("Why is a tree slow for very long messages?", ["It has too many rounds", "The whole message is sent again in every round", "Trees need a power of two"], 1, "Each round costs nβ. A chain or a double tree sends it in pieces, once."),
  ],
  all_gather: [
    ask("At the end of an all-gather, how many blocks does each rank hold?", ["One", "Half of them", "All p"], 2, "Everyone ends with everyone's block."),
    ask("Ring and recursive doubling send the same number of bytes. When is the ring slower?", ["When messages are short", "When messages are long", "Never"], 0, "It has p − 1 rounds in place of log₂ p, and each costs α."),
  ],
  reduce_scatter: [
    ask("Reduce-scatter, then all-gather. What is it together?", ["An all-to-all", "An all-reduce", "A broadcast"], 1, "First everyone has one complete block, then everyone has all of them."),
    ask("In recursive halving, how much does a rank send in the second round?", ["A quarter of the message", "Half of it", "All of it"], 0, "Half in the first round, then a quarter, then an eighth: (p − 1)/p of it in all."),
  ],
  all_to_all: [
    ask("What does rank 2 get from rank 5 in an all-to-all?", ["Rank 5's whole input", "The block that rank 5 has for rank 2", "A sum"], 1, "It is a transposition: block (5, 2) goes from rank 5 to rank 2."),
    ask("Why would a block travel more than once, as in Bruck's algorithm?", ["To send fewer messages", "To send fewer bytes", "To keep an order"], 0, "Blocks that go part of the way together share one message, and one α."),
  ],
  gather: [
    ask("In a direct gather, where is the bottleneck?", ["At the root's link", "At the last rank", "There is none"], 0, "All blocks enter through it; no algorithm can change that, only the number of messages."),
  ],
  scatter: [
    ask("How is a scatter different from a broadcast?", ["It goes to one rank", "Every rank gets another part", "It adds up"], 1, "A broadcast gives everyone the same, a scatter everyone their own."),
  ],
  barrier: [
    ask("What data does a barrier move?", ["None", "One number a rank", "A list of ranks"], 0, "Its messages are empty. That one has come is all it says."),
  ],
  send_recv: [
    ask("A message of n bytes takes α + nβ. What is the most that larger messages can win?", ["Nothing", "They pay α more rarely", "They pay a smaller β"], 1, "Ten messages of n/10 bytes pay α ten times."),
  ],
};
