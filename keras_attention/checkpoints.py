"""What TensorFlow's checkpoints need to find every weight."""


def name_each(owner, name, layers):
    """Makes every layer of a list an attribute of its own, too.

    `tf.train.Checkpoint` follows attributes of a Keras layer, but does not
    look into their lists (Keras 3.15): the weights there would be left out
    without a word. Other ways of saving see each layer once.

    Args:
        owner: The layer that holds the list.
        name: Start of the attributes' names; after that of the list in the
            order of the alphabet, for that is where Keras looks first.
        layers: The list.
    """
    for index, layer in enumerate(layers):
        setattr(owner, f"{name}_{index}", layer)
